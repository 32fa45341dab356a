package filestore

// NameOf is the name of the file of a run.
var NameOf = nameOf
