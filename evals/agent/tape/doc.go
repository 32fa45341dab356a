// Package tape records and plays the messages of the model and the servers of a trial.
//
// A cassette is a directory: cassette.json describes it, and each trial has a file of JSON lines,
// its tape. Playing is strict: each request must equal the recorded one, except for secrets, which
// are never recorded, and for what differs in each connection: ids and keys of calls.
package tape
