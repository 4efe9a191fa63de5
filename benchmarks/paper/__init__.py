"""The tables and figures of the paper (Belanger & Kakade, 2015) on data at hand, one module a study.

A study is a module with

    TITLE, NEEDS                 what the report calls it; which data it reads (names of :class:`data.Data`)
    cells(job, store)            a list of :class:`store.Cell`: the measurements, each small enough to be lost

and a module of the same name under ``report`` that makes tables, pictures and sentences of the stored figures.
``python -m benchmarks.paper --help`` says how to run them.
"""
