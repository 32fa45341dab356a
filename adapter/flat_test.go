package adapter

import (
	"encoding/json"
	"reflect"
	"testing"
)

// flatInput has all kinds of fields that are read in one pass.
type flatInput struct {
	Name   string  `json:"name"`
	Yes    bool    `json:"yes,omitempty"`
	Small  int8    `json:"small"`
	Count  int     `json:"count"`
	Byte   uint8   `json:"byte"`
	Share  float64 `json:"share"`
	Single float32
	Not    []string `json:"-"`
}

var flatTexts = []string{
	`{}`, `{"name":"Ann","yes":true,"small":-3,"count":12,"byte":255,"share":1.5e3,"Single":0.1}`,
	`{"name":"\u00e4\ud83d\ude00\ud800 \n"}`, "{\"name\":\"\xff\"}", `{"name":null,"count":null}`, `{"NAME":"Ann","single":2}`,
	`{"name":"a","name":"b"}`, `{"count":1.0}`, `{"count":1e2}`, `{"small":128}`, `{"byte":-1}`, `{"share":1e999}`, `{"Single":1e39}`,
	`{"count":"1"}`, `{"name":1}`, `{"yes":"true"}`, `{"other":[{}],"count":1}`, `{"n\u0061me":"x"}`, `{"hidden":"x","Not":["x"]}`,
	` { "count" : 7 } `, `{"count":7} {}`, `{"count":7`, `[]`, `null`, `{"count":-0}`, `{"share":-0}`,
}

// Objects are read as encoding/json reads them, or left to it.
func FuzzFlat(f *testing.F) {
	for _, text := range flatTexts {
		f.Add([]byte(text))
	}
	reads := newFlat(reflect.TypeFor[flatInput]())
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want flatInput
		if !reads.read(data, reflect.ValueOf(&got).Elem()) {
			return
		}
		if err := json.Unmarshal(data, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, want %+v, %v", data, got, want, err)
		}
	})
}

// Objects with all kinds of fields are read in one pass, and so is none of a type that encoding/json
// reads in its own way.
func TestFlat(t *testing.T) {
	var got flatInput
	if !newFlat(reflect.TypeFor[flatInput]()).read([]byte(flatTexts[1]), reflect.ValueOf(&got).Elem()) || got.Byte != 255 || got.Name != "Ann" {
		t.Errorf("got %+v for %s", got, flatTexts[1])
	}
	for _, other := range []any{
		struct{ At readItself }{}, struct{ N json.Number }{}, struct{ flatInput }{}, struct{ P *int }{}, struct{ L []string }{}, map[string]string{},
		struct {
			N int `json:"n,string"`
		}{}, struct {
			A int `json:"a b"`
		}{},
	} {
		if newFlat(reflect.TypeOf(other)) != nil {
			t.Errorf("%T is read in one pass", other)
		}
	}
}

// readItself is a string that is read as another one.
type readItself string

func (r *readItself) UnmarshalText([]byte) error { *r = "read"; return nil }
