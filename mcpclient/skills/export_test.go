package skills

// Entry is a skill as a server lists it.
type Entry = entry
