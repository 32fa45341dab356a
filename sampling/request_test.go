package sampling

import (
	"encoding/json"
	"os"
	"testing"
)

func TestRequestMapping(t *testing.T) {
	var tests []struct {
		Name         string
		Params, Want json.RawMessage
	}
	data, err := os.ReadFile("testdata/requests.json")
	if err == nil {
		err = json.Unmarshal(data, &tests)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.Name, func(t *testing.T) {
			h := newHost(t, answering(plainAnswer, `{"choices":[{"message":{"content":"x"},"finish_reason":"length"}]}`))
			p := question(t, string(tt.Params))
			before, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			s := h.sampler(t, &Options{System: "House rules."})
			if _, err := s.CreateMessage(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			equalJSON(t, h.last(), string(tt.Want))
			after, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			equalJSON(t, string(after), string(before))
		})
	}
}
