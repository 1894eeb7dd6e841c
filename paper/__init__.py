"""Every table and figure of the paper, computed anew with distpriv's public functions.

M. Chen and O. Ohrimenko, "Protecting Global Properties of Datasets with Distribution Privacy Mechanisms", AISTATS 2023.

`python -m paper` runs the experiments, compares them with the published numbers and writes a report.
"""
