package main

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

var requests = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// post answers a POST with JSON of a known length, or with an event stream of one flushed event.
func (a *answers) post(w http.ResponseWriter, r *http.Request, stream bool) {
	body := requests.Get().(*bytes.Buffer)
	defer requests.Put(body)
	body.Reset()
	if _, err := body.ReadFrom(r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	id, rest := a.request(body.Bytes())
	if id == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	var scratch [256]byte
	head := scratch[:0]
	if stream {
		w.Header()["Content-Type"] = []string{"text/event-stream"}
		head = append(head, "event: message\ndata: "...)
	} else {
		w.Header()["Content-Type"] = []string{"application/json"}
		w.Header()["Content-Length"] = []string{strconv.Itoa(len(rig.Head) + len(id) + len(rest))}
	}
	_, _ = w.Write(append(append(head, rig.Head...), id...)) // the client sees a failure, too
	_, _ = w.Write(rest)
	if stream {
		_, _ = io.WriteString(w, "\n") // after the newline of the data
		_ = http.NewResponseController(w).Flush()
	}
}
