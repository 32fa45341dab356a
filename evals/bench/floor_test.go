package main

import (
	"encoding/json"
	"testing"
)

func TestFloorRequestsAreJSON(t *testing.T) {
	for _, r := range []floorRequest{
		{method: "initialize"},
		{method: "server/discover", modern: true},
		{method: "tools/call", tool: smallTool},
		{method: "tools/call", tool: smallTool, modern: true},
		{method: "tools/list"},
		{method: "tools/list", cursor: "page_01"},
		{method: "tools/list", cursor: "page_01", modern: true},
		{method: "notifications/initialized"},
	} {
		if b := r.appendTo(nil, 1); !json.Valid(b) {
			t.Errorf("%+v: got %s, want JSON", r, b)
		}
	}
}
