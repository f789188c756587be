"""The web process of Signalbox: pages, REST, sockets, store. Never loads torch."""
