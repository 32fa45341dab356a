package sampling

import (
	"github.com/mcpchain/mcpchain/internal/cost"
	"github.com/mcpchain/mcpchain/price"
)

// priceOf returns the price of a model, nil if it has none.
func (o *Options) priceOf(model string) *price.Price {
	p, ok := cost.PriceOf(o.Prices, model)
	if !ok {
		return nil
	}
	return &p
}
