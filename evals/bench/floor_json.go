package main

import "encoding/json"

// jsonCodec is only encoding/json: one Unmarshal into the needed parts of a
// response.
type jsonCodec struct{}

func (jsonCodec) decode(data []byte, m *floorMessage) error { return json.Unmarshal(data, m) }
