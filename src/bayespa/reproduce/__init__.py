"""The paper's figures and tables: ``bayespa reproduce figure-1``, and so on.

A figure is a list of cells (a method, its settings, a data set, a seed). Each is run once and kept on disk. A
drawing, a table and claims are made from the finished runs.
"""

from bayespa.reproduce.figure_1 import FIGURE_1
from bayespa.reproduce.figure_2 import FIGURE_2, FIGURE_3
from bayespa.reproduce.figure_4 import FIGURE_4
from bayespa.reproduce.figure_5 import FIGURE_5
from bayespa.reproduce.figure_6 import FIGURE_6
from bayespa.reproduce.figure_regret import REGRET
from bayespa.reproduce.table_1 import TABLE_1

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (FIGURE_1, FIGURE_2, FIGURE_3, FIGURE_4, TABLE_1, FIGURE_5, FIGURE_6, REGRET)
}
