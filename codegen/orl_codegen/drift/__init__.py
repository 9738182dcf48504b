"""Drift: what changed between two snapshots, and whether the committed files are still what they should be.

    (Snapshot, Snapshot) → Changes → Findings → Report → text

`comparison` finds what changed, `rules` says what a change means, `policy` weighs it (profile, overrides, accept list),
and `formats` prints it. `inspection` looks at files and servers for the `check` command. Nothing here writes a file.
"""
