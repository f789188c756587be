"""What on this machine makes training runs die: each suspicion is looked at in a process of its own."""
