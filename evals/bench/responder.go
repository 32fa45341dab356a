package main

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

// request returns the id of a request and its answer. It finds id and method as text, without
// parsing: the compared clients send both before the params. The id of a notification is nil.
func (a *answers) request(message []byte) (id, rest []byte) {
	i := bytes.Index(message, []byte(`"id":`))
	if i < 0 {
		return nil, nil
	}
	id = message[i+len(`"id":`):]
	id = id[:bytes.IndexByte(id, ',')]

	i = bytes.Index(message, []byte(`"method":"`))
	method := message[i+len(`"method":"`):]
	switch {
	case bytes.HasPrefix(method, []byte("tools/call")):
		i = bytes.Index(method, []byte("bench_"))
		tool := method[i:]
		return id, a.texts[string(tool[:bytes.IndexByte(tool, '"')])]()
	case bytes.HasPrefix(method, []byte("tools/list")):
		page := 0
		if i := bytes.Index(method, []byte("page_")); i >= 0 {
			page = int(method[i+5]-'0')*10 + int(method[i+6]-'0')
		}
		return id, a.pages()[page]
	case bytes.HasPrefix(method, []byte("initialize")):
		return id, a.initialize
	}
	return id, a.discover
}

// serve answers requests, one on each line, until the reader ends.
func (a *answers) serve(r io.Reader, w io.Writer, size int) error {
	return rig.Serve(r, w, size, a.request)
}

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
