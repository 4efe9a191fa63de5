"""A server for clients of embedding services, and a page to explore a model.

requests    what a request may say; every error of a client
service     the questions a model answers: the only module here that calls it
reading     what the page shows of a text: surprisal, the path of the state, what each word contributes
batching    the queue in front of the engine
answers     JSON, Arrow or .npy
metrics     counters for Prometheus
openapi     the description of all routes, from which /docs is drawn
app         the routes
server      sockets, signals, reloading
packed      a model in few bytes, for the page without a server
layout      the map of words
"""
