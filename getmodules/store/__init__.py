"""What is kept between runs, for all projects of a user: bytes by their digest, and small records about them.

::

    version                        of this layout, written first
    blobs/sha256/ab/abcd…          packages as they came, by digest; verified each time they are read
    records/pins/…  records/refs/… what a pin brought; what an address meant when it was last asked
    workshops/…                    rooms of getters: git's bare repositories
    locks/…                        who fetches what, and who is in which workshop
    ingest/                        what is arriving

Nothing here is needed: a store that is missing, damaged or cleaned away costs time, never correctness. No
unpacked tree is ever kept, so that nobody's edit can reach another project.
"""
