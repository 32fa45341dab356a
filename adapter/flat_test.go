package adapter

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

// flatInput has a field of each kind that flat decodes.
type flatInput struct {
	Name   string  `json:"name"`
	Yes    bool    `json:"yes,omitempty"`
	Small  int8    `json:"small"`
	Count  int     `json:"count"`
	Byte   uint8   `json:"byte"`
	Share  float64 `json:"share"`
	Single float32
	Not    *int `json:"-"`
}

// flatTexts are decoded by flat, and otherTexts are left to encoding/json.
var (
	flatTexts = []string{
		`{}`, `{"name":"Ann","yes":true,"small":-3,"count":12,"byte":255,"share":1.5e3,"Single":0.1}`, `{"yes":false}`,
		`{"name":"\u00e4\ud83d\ude00\ud800 \n"}`, "{\"name\":\"\xff\"}", `{"name":"a","name":"b"}`, `{"n\u0061me":"x"}`,
		`{"count":-0}`, `{"share":-0}`, `{"count":7, "name": "x"}`, ` { "count" : 7 }`, `{"small":-128,"byte":0,"count":9223372036854775807}`,
	}
	otherTexts = []string{
		`{"name":null,"count":null}`, `{"NAME":"Ann","single":2}`, `{"count":1.0}`, `{"count":1e2}`, `{"small":128}`, `{"byte":-1}`,
		`{"share":1e999}`, `{"Single":1e39}`, `{"count":"1"}`, `{"name":1}`, `{"yes":"true"}`, `{"other":[{}],"count":1}`,
		`{"hidden":"x","Not":["x"]}`, `{"count":7} `, `{"count":7} {}`, `{"count":7`, `{"count":7,}`, `[]`, `null`, ``,
	}
)

// flat decodes objects as encoding/json does, or not at all.
func FuzzFlat(f *testing.F) {
	for _, text := range slices.Concat(flatTexts, otherTexts) {
		f.Add([]byte(text))
	}
	reads := newFlat(reflect.TypeFor[flatInput]())
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want flatInput
		if !reads.read(data, reflect.ValueOf(&got).Elem()) {
			return
		}
		err := json.Unmarshal(data, &want)
		check.That(t, err == nil && reflect.DeepEqual(got, want), "%q: got %+v, want %+v, %v", data, got, want, err)
	})
}

// newFlat accepts structs of scalar fields, but no type with its own way of decoding.
func TestFlat(t *testing.T) {
	reads := newFlat(reflect.TypeFor[flatInput]())
	for _, text := range flatTexts {
		var got, want flatInput
		check.NoError(t, json.Unmarshal([]byte(text), &want))
		check.That(t, reads.read([]byte(text), reflect.ValueOf(&got).Elem()) && got == want, "%s: got %+v, want %+v in one pass", text, got, want)
	}
	for _, text := range otherTexts {
		check.That(t, !reads.read([]byte(text), reflect.ValueOf(new(flatInput)).Elem()), "%s: it is read in one pass", text)
	}
	for _, field := range []any{
		"", false, 0, int8(0), int16(0), int32(0), int64(0), uint(0), uint8(0), uint16(0), uint32(0), uint64(0), float32(0), float64(0), time.Duration(0),
	} {
		input := reflect.StructOf([]reflect.StructField{{Name: "V", Type: reflect.TypeOf(field)}})
		check.That(t, len(newFlat(input)) == 1, "a field of type %T is not read in one pass", field)
	}
	for _, other := range []any{
		struct{ At readItself }{}, struct{ N json.Number }{}, struct{ flatInput }{}, struct{ P *int }{}, struct{ L []string }{}, map[string]string{},
		struct {
			N int `json:"n,string"`
		}{}, struct {
			A int `json:"a b"`
		}{},
	} {
		check.That(t, newFlat(reflect.TypeOf(other)) == nil, "%T is read in one pass", other)
	}
}

// readItself is a string type that decodes itself.
type readItself string

func (r *readItself) UnmarshalText([]byte) error { *r = "read"; return nil }
