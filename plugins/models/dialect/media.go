package dialect

import "bytes"

// link is the address of an image or of another medium: its data, or a place
// from which the provider would fetch it.
var link = shapeFunc(func(c *check, i int) *Refusal {
	if c.nodes[i].kind != text {
		return c.bad("no address")
	}
	address := c.bytes(i)[1:]
	if !bytes.HasPrefix(address, []byte("data:")) {
		c.hidden = true
		return c.need(RemoteFiles, "")
	}
	c.medium(i, bytes.HasPrefix(address, []byte("data:image/")))
	return nil
})

// The shapes of media.
var (
	// filedata is a file in the body, as a data address or as plain base64.
	filedata = hiding(scalar)
	// image and otherMedia are base64.
	image, otherMedia = base64(true), base64(false)
)

func base64(image bool) shape {
	return shapeFunc(func(c *check, i int) *Refusal {
		if c.nodes[i].kind != text {
			return c.bad("no base64")
		}
		c.medium(i, image)
		return nil
	})
}

// hiding is a value that may count more than its bytes.
func hiding(s shape) shape {
	return shapeFunc(func(c *check, i int) *Refusal {
		c.hidden = true
		return s.check(c, i)
	})
}

// medium counts a medium whose data are in the body. What an image costs has a
// limit; what is in other media, nobody can tell from their size.
func (c *check) medium(i int, image bool) {
	if !image {
		c.hidden = true
		return
	}
	c.images++
	c.mediaBytes += int64(c.nodes[i].end - c.nodes[i].start)
}
