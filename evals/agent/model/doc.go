// Package model has the models that trials use: scripted, recorded, and live.
package model
