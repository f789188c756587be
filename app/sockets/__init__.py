"""Socket namespaces: supervisors come up the uplink, browsers watch as viewers."""
