package trial

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/adapter"
)

type numbers struct {
	Numbers []float64 `json:"numbers"`
}

type conversion struct {
	Value float64 `json:"value"`
	From  string  `json:"from" enum:"km,mile,kg,pound"`
	To    string  `json:"to" enum:"km,mile,kg,pound"`
}

// function returns a function tool that tasks can use.
func function(name string) (*adapter.FuncTool, error) {
	pure := &adapter.FuncOptions{ReadOnly: true}
	switch name {
	case "add":
		return adapter.Func("add", "Adds numbers.", func(_ context.Context, in numbers) (float64, error) {
			sum := 0.0
			for _, n := range in.Numbers {
				sum += n
			}
			return sum, nil
		}, pure), nil
	case "multiply":
		return adapter.Func("multiply", "Multiplies numbers.", func(_ context.Context, in numbers) (float64, error) {
			product := 1.0
			for _, n := range in.Numbers {
				product *= n
			}
			return product, nil
		}, pure), nil
	case "today":
		return adapter.Func("today", "Tells the date.", func(context.Context, struct{}) (string, error) { return "2026-02-28", nil }, pure), nil
	case "convert":
		return adapter.Func("convert", "Converts a length or a mass.", convert, pure), nil
	}
	return nil, fmt.Errorf("there is no function %q", name)
}

func convert(_ context.Context, in conversion) (float64, error) {
	factors := map[string]float64{"km mile": 1 / 1.609344, "mile km": 1.609344, "kg pound": 1 / 0.45359237, "pound kg": 0.45359237}
	f, ok := factors[in.From+" "+in.To]
	if !ok {
		return 0, errors.New("a length is no mass")
	}
	return in.Value * f, nil
}
