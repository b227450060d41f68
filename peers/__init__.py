"""Test files of other projects, run on the classes of this one."""
