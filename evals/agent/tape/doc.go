// Package tape keeps what the model and the servers of a trial say, and says it again.
//
// A cassette is a directory: cassette.json says whose replies it has, and each trial has a file of JSON
// lines, its tape. A tape is strict: what is asked again must be what was asked, except for secrets,
// which are kept nowhere, and for what differs in each connection: ids and keys of calls.
package tape
