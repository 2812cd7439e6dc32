// Command probe tests the network of a cluster from within a pod.
//
//	probe serve ADDRESS                  responds to each request with the pod's name
//	probe get URL                        prints the response; retries for 3 min
//	probe webhook ADDRESS CERT KEY       admits objects without the label "forbidden"
package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "serve":
		return http.ListenAndServe(args[1], http.HandlerFunc(sayName))
	case len(args) == 2 && args[0] == "get":
		return get(args[1])
	case len(args) == 4 && args[0] == "webhook":
		return http.ListenAndServeTLS(args[1], args[2], args[3], http.HandlerFunc(review))
	default:
		return errors.New("usage: probe serve ADDRESS | get URL | webhook ADDRESS CERT KEY")
	}
}

func sayName(w http.ResponseWriter, _ *http.Request) {
	name, err := os.Hostname()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprint(w, name)
}

func get(url string) error {
	client := http.Client{Timeout: 10 * time.Second}
	deadline := time.Now().Add(3 * time.Minute)
	for {
		answer, err := ask(client, url)
		if err == nil {
			fmt.Print(answer)
			return nil
		}
		if time.Now().After(deadline) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func ask(client http.Client, url string) (string, error) {
	response, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return string(answer), err
}
