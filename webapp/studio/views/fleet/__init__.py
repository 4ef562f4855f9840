"""The page "Fleet": several workers train one network, and a planner for tables on many machines."""
