"""The version of this package, and of the program that it speaks to."""
VERSION = '0.1.0'
