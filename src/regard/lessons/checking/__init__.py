"""Answers in any form: read by our own parser, compared on a stated domain, never evaluated as code."""
