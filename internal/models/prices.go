package models

import (
	"fmt"
	"os"
	"time"

	"github.com/mcpchain/mcpchain/internal/cost"
	"github.com/mcpchain/mcpchain/price"
)

// readPrices reads the file of -prices, if any.
func (f *Flags) readPrices() error {
	if f.prices == "" {
		return nil
	}
	raw, err := read(f.prices)
	if err != nil {
		return fmt.Errorf("-prices: %w", err)
	}
	table := &price.Table{}
	if err := decode(f.prices, raw, table); err != nil {
		return fmt.Errorf("-prices: %w", err)
	}
	if err := cost.Check(table); err != nil {
		return fmt.Errorf("-prices: %s: %w", f.prices, err)
	}
	f.Prices = table
	return nil
}

// filePrices returns the prices in a file of models. Their date is the date of the file.
func filePrices(file *File) *price.Table {
	prices := &price.Table{}
	if info, err := os.Stat(file.path); err == nil {
		prices.Date = info.ModTime().UTC().Format(time.DateOnly)
	}
	for _, name := range file.Names() {
		if m := file.Models[name]; m.Price != nil {
			price := *m.Price
			price.Model = m.Name
			prices.Models = append(prices.Models, price)
		}
	}
	return prices
}
