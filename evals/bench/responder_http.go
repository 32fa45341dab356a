package main

import (
	"bytes"
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
	var scratch [rig.Copied + 256]byte
	out := scratch[:0]
	if stream {
		w.Header()["Content-Type"] = []string{"text/event-stream"}
		out = append(out, "event: message\ndata: "...)
	} else {
		w.Header()["Content-Type"] = []string{"application/json"}
		w.Header()["Content-Length"] = []string{strconv.Itoa(len(rig.Head) + len(id) + len(rest))}
	}
	out = append(append(out, rig.Head...), id...)
	if len(rest) > rig.Copied {
		_, _ = w.Write(out) // the client sees a failure, too
		out = scratch[:0]
		_, _ = w.Write(rest)
	} else {
		out = append(out, rest...)
	}
	if stream {
		out = append(out, '\n') // after the newline of the data
	}
	_, _ = w.Write(out)
	if stream {
		_ = http.NewResponseController(w).Flush()
	}
}
