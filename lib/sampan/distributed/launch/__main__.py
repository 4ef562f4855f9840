"""python -m sampan.distributed.launch"""

from .main import launch

if __name__ == "__main__":
    launch()
