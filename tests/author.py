"""A model for tests of everything but models: it writes small programs, by the request's seed."""

from __future__ import annotations

from aide.interfaces import Reply, Request, Usage

REPLY = """Guess by the seed {seed}.

```python
import csv, random, time

random.seed({seed})
time.sleep(0.1)
if random.random() < 0.3:
    raise ValueError("unlucky")
with open("input/sample_submission.csv", newline="") as stream:
    header, *rows = csv.reader(stream)
with open("input/train.csv", newline="") as stream:
    values = [row[header[1]] for row in csv.DictReader(stream)]
with open("working/submission.csv", "w", newline="") as stream:
    writer = csv.writer(stream)
    writer.writerow(header)
    writer.writerows([row[0], random.choice(values)] for row in rows)
```
"""


class Author:
    """Answers every prompt with a whole program that guesses; three in ten fail."""

    name = "author"

    def complete(self, request: Request) -> Reply:
        return Reply(REPLY.format(seed=request.seed), self.name, Usage(calls=1))
