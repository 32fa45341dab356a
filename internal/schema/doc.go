// Package schema checks JSON values against a peer's JSON Schemas.
//
// It prepares a schema for the validator: the document is decoded exactly,
// bounded in size, depth, number of subschemas and compiled size of its
// patterns, checked by a supported dialect, and compiled without access to the
// network. A violation has a path and the expected value, in words for a model.
//
// Supported dialects are 2020-12 (the default), 2019-09, draft-07, draft-06 and draft-04, without
// custom vocabularies. Formats and the content keywords are annotations, as 2020-12 demands.
package schema
