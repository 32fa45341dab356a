// Package schema checks JSON values against JSON Schemas that a peer wrote.
//
// It stands between such schemas and the validator that does the work: a
// document is decoded exactly, bounded in size, depth, number of subschemas and
// what its patterns compile to, held to a dialect that is supported, and compiled
// without any way to reach the network. A violation is told as a path and as what
// was expected there, in words that a model can act on.
//
// Supported dialects are 2020-12 (the default), 2019-09, draft-07, draft-06 and
// draft-04, without custom vocabularies. Formats and the content keywords are
// annotations, as 2020-12 has it.
package schema
