// Verifies a delivery with the library of Standard Webhooks: verify SECRET, with the delivery as JSON, `headers` and `text`, on standard
// input. Prints the body.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func main() {
	body, err := verified(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "verify:", err)
		os.Exit(1)
	}
	fmt.Println(body)
}

func verified(secret string) (string, error) {
	var delivery struct {
		Headers map[string]string
		Text    string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&delivery); err != nil {
		return "", err
	}
	headers := http.Header{}
	for name, value := range delivery.Headers {
		headers.Set(name, value)
	}
	webhook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return "", err
	}
	return delivery.Text, webhook.Verify([]byte(delivery.Text), headers)
}
