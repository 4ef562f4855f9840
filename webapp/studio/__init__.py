"""The Studio: one Jupyter server with JupyterLab, pages that compute (Voilà) and the Studio's own pages."""
