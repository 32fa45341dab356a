package chat

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

// withTools is a request with n tools.
func withTools(n int) *Request {
	r := hello()
	for i := range n {
		r.Tools = append(r.Tools, Tool{Name: fmt.Sprint("t", i)})
	}
	return r
}

// A host that makes grammars of schemas refuses all tools for one of them. The error names that one.
func TestRefusedGrammar(t *testing.T) {
	for _, tt := range []struct {
		name       string
		tools, bad int // bad: the number of the tool, -1 for none
		status     int // of the refusal
		most       int // requests
		want       string
		message    string // of the refusal, if it is a special one
	}{
		{"the first of ten", 10, 0, 400, 5, `the tool "t0"`, ""},
		{"the last of ten", 10, 9, 400, 5, `the tool "t9"`, ""},
		{"the only one", 1, 0, 400, 1, `the tool "t0"`, ""},
		{"a reference that llama.cpp cannot follow", 10, 3, 400, 5, `the tool "t3"`, `JSON schema conversion failed:\nUnsupported ref: #`},
		{"of a hundred and twenty-eight", 128, 77, 500, 11, `the tool "t77"`, ""},
	} {
		var h *host
		h = newHost(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(h.Last(), fmt.Sprintf(`"name":"t%d"`, tt.bad)) {
				failing(tt.status, "", `{"error":{"code":400,"message":"`+cmp.Or(tt.message, "Failed to initialize samplers: failed to parse grammar")+`"}}`)(w, r)
				return
			}
			answering(plainAnswer)(w, r)
		})
		_, err := h.client(t, local, &Options{Retries: -1}).Complete(t.Context(), withTools(tt.tools))
		check.That(t, err != nil && strings.Contains(err.Error(), tt.want) && h.Asked() <= tt.most,
			"%s: got %v after %d requests, want %s after %d at most", tt.name, err, h.Asked(), tt.want, tt.most)
	}
}

// The search for the tool ends at a host that does not answer.
func TestRefusedGrammarEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		h := newHost(t, func(w http.ResponseWriter, r *http.Request) {
			if asked++; asked > 1 {
				<-r.Context().Done()
			}
			failing(400, "", `{"error":{"code":400,"message":"failed to parse grammar"}}`)(w, r)
		})
		defer h.Close()
		start := time.Now()
		_, err := h.client(t, local, &Options{Retries: -1}).Complete(t.Context(), withTools(128))
		took := time.Since(start)
		check.That(t, err != nil && took <= searchTime, "got %v after %v, want the failure after at most %v", err, took, searchTime)
	})
}
