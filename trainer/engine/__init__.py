"""The training loop, checkpoints, seeding, devices, snapshot writer."""
