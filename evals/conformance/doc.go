// Package conformance runs the official conformance suite of the protocol against mcpclient: the
// test binary is also the client that the suite starts. One command installs the suite and a
// suitable Node.js, by the lock file in testdata, and runs every scenario for clients:
//
//	go test -v ./evals/conformance
package conformance
