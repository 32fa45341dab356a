package main

import "fmt"

func main() {
	for _, c := range clients {
		fmt.Println(c.name)
	}
}
