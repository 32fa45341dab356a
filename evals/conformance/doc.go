// Package conformance runs the official conformance suite of the protocol
// against the client in the folder client. The suite and a Node that is new
// enough for it come from npm, as the lock file in testdata pins them.
//
//	go test ./evals/conformance
package conformance
