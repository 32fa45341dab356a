package main

import "encoding/json"

// jsonCodec is encoding/json and nothing else: one Unmarshal, straight into what
// is wanted of a response.
type jsonCodec struct{}

func (jsonCodec) decode(data []byte, m *floorMessage) error { return json.Unmarshal(data, m) }
