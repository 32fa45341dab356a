package hosting

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"reflect"
	"strconv"
)

// Refusal is the error of a request whose sender may know the reason.
type Refusal struct {
	Status int    // the response's status
	Text   string // for the sender
}

// Error implements error.
func (r Refusal) Error() string { return r.Text }

// Refuse returns a [Refusal].
func Refuse(status int, format string, args ...any) error {
	return Refusal{status, fmt.Sprintf(format, args...)}
}

// ReadJSON decodes the body of a request, which is a single JSON value with a maximum of most bytes. Objects must not
// have unknown members. The error is a [Refusal].
func ReadJSON(w http.ResponseWriter, r *http.Request, most int64, v any) error {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, most))
	d.DisallowUnknownFields() // for example a state
	err := d.Decode(v)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		err = cmp.Or(err, errors.New("there is more than one value"))
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return Refuse(http.StatusRequestEntityTooLarge, "the body has more than %d bytes", most)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return Refuse(http.StatusBadRequest, "%s", typeErrorText(wrong))
	}
	return Refuse(http.StatusBadRequest, "read the body as JSON: %.200s", err)
}

// typeErrorText describes the value of a body that has the wrong type.
func typeErrorText(e *json.UnmarshalTypeError) string {
	want := "another kind of value"
	switch e.Type.Kind() {
	case reflect.Slice:
		want = `a list, as in [{"ask":"ID","action":"allow"}]`
	case reflect.Struct:
		want = "an object, as in {…}"
	case reflect.String:
		want = "a text in quotes"
	}
	return fmt.Sprintf("%.100s is a JSON %s: want %s", cmp.Or(e.Field, "the body"), e.Value, want)
}

// WriteJSON answers with a value as JSON, which no cache may keep. A value that has no JSON becomes
// an error with status 500.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"error":"the answer has no JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // an error means that the client is gone
}

// WriteError answers with {"error": "…"}.
func WriteError(w http.ResponseWriter, status int, text string) {
	WriteJSON(w, status, map[string]string{"error": text})
}

// Routes returns a handler with the routes of a mux. Other requests get an error of [WriteError]
// instead of the text of the mux.
func Routes(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern == "" {
			w = unrouted{w}
		}
		mux.ServeHTTP(w, r)
	})
}

// unrouted is a response to a request without a route.
type unrouted struct{ http.ResponseWriter }

// WriteHeader implements [http.ResponseWriter]: it writes the whole response.
func (w unrouted) WriteHeader(status int) {
	text := "there is no such path"
	if status == http.StatusMethodNotAllowed {
		text = "the path has no such method"
	}
	WriteError(w.ResponseWriter, status, text)
}

// Write drops the text of the mux.
func (w unrouted) Write(p []byte) (int, error) { return len(p), nil }

// Allow counts a request of a sender, and returns a [Refusal] if there were too many. The response
// then says when to try again.
func (r *Rates) Allow(w http.ResponseWriter, who string) error {
	wait := r.Take(who)
	if wait == 0 {
		return nil
	}
	seconds := int(math.Ceil(wait.Seconds()))
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	return Refuse(http.StatusTooManyRequests, "too many requests; try again in %d s", seconds)
}
