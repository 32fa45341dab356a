// Package conformance runs the official conformance suite of the protocol against the client in the
// folder client. One command installs the suite and a suitable Node.js, by the lock file in
// testdata, and runs every scenario for clients:
//
//	go test -v ./evals/conformance
package conformance
