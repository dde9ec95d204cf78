"""What runs inside the sandbox process: standard library only, and no import of the harness.

The process puts the folder above on its path and imports this package under the bare name `inside`, so imports here
are relative.
"""
