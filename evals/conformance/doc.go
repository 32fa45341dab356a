// Package conformance runs the official conformance suite of the protocol
// against the client in the folder client. One command installs the suite, and a
// Node.js that is new enough for it, as the lock file in testdata pins them, and
// runs every scenario for clients:
//
//	go test -v ./evals/conformance
package conformance
