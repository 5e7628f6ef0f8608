"""From a checkout to a stack on AWS: stages, gradual deployments, the preflight."""
