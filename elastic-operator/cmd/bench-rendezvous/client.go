package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tcpstore"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/testing/tcpclient"
)

// client is a TCPStore client. It sends the same messages as torch's client. It is not safe for concurrent use.
type client struct {
	conn    net.Conn
	reader  *bufio.Reader
	dialect tcpstore.Dialect
	buffer  []byte
}

// dial connects to the server and sends the dialect's greeting, if any.
func dial(address string, d tcpstore.Dialect) (*client, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	c := &client{conn: conn, reader: bufio.NewReaderSize(conn, 4<<10), dialect: d}
	if d == tcpstore.Validated {
		if _, err := conn.Write(tcpclient.Greeting()); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// close closes the connection.
func (c *client) close() error { return c.conn.Close() }

func (c *client) send(q tcpstore.Request) (err error) {
	if c.buffer, err = tcpclient.Append(c.buffer[:0], c.dialect, q); err != nil {
		return err
	}
	_, err = c.conn.Write(c.buffer)
	return err
}

// set sends a value. The server does not reply, so set may return before the server has stored the value.
func (c *client) set(key string, value []byte) error {
	return c.send(tcpstore.Request{Op: tcpstore.OpSet, Keys: []string{key}, Values: [][]byte{value}})
}

// get waits until the key exists and returns its value.
func (c *client) get(key string) ([]byte, error) {
	if err := c.wait(key); err != nil {
		return nil, err
	}
	if err := c.send(tcpstore.Request{Op: tcpstore.OpGet, Keys: []string{key}}); err != nil {
		return nil, err
	}
	return c.value()
}

// wait waits until all keys exist.
func (c *client) wait(keys ...string) error {
	if err := c.send(tcpstore.Request{Op: tcpstore.OpWait, Keys: keys}); err != nil {
		return err
	}
	_, err := c.reader.ReadByte()
	return err
}

// compareSet sets the key if it has the expected value, and returns its value afterwards.
func (c *client) compareSet(key string, expected, desired []byte) ([]byte, error) {
	if err := c.send(tcpstore.Request{Op: tcpstore.OpCompareSet, Keys: []string{key}, Values: [][]byte{expected, desired}}); err != nil {
		return nil, err
	}
	return c.value()
}

// add adds n to the number at the key and returns the sum.
func (c *client) add(key string, n int64) (int64, error) {
	if err := c.send(tcpstore.Request{Op: tcpstore.OpAdd, Keys: []string{key}, Number: n}); err != nil {
		return 0, err
	}
	sum, err := c.number()
	return int64(sum), err
}

// maxValue limits the size of a received value in bytes.
const maxValue = 1 << 30

func (c *client) value() ([]byte, error) {
	n, err := c.number()
	if err != nil {
		return nil, err
	}
	if n > maxValue {
		return nil, fmt.Errorf("reading a value: its length of %d bytes exceeds the limit of %d", n, maxValue)
	}
	b := make([]byte, n)
	_, err = io.ReadFull(c.reader, b)
	return b, err
}

func (c *client) number() (uint64, error) {
	var b [8]byte
	_, err := io.ReadFull(c.reader, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}
