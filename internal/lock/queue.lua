-- Prelude of scripts of locks that have a queue in Redis. After clock.lua.
--
-- Who must wait takes a place in the queue, in the order in which Redis sees them: a sorted set, request → the time of
-- arrival in microseconds of Redis's clock, or one more than the last one's, if the clock went back. A place is kept
-- for a while after the request was last heard of, also in Redis's time: the other sorted set, request → milliseconds.
-- Each place has a time of its own, so those of many who died together are over together; whoever comes by takes away
-- what is over. The keys live as long as the last place.
--
-- KEYS[4]  the queue
-- KEYS[5]  until when the places are kept
-- KEYS[6]  the queue of readers, who may go together (readwrite.lua); none for locks without them
-- In an acquire:
-- ARGV[4]  request
-- ARGV[5]  how long a place is kept, milliseconds; "0": the request does not wait, and takes none

local queues = {KEYS[4], KEYS[6]}

-- vacate gives up the place of a request, and reports whether it had one.
local function vacate(request)
  for _, queue in ipairs(queues) do
    redis.call('ZREM', queue, request)
  end
  return redis.call('ZREM', KEYS[5], request) == 1
end

-- prune takes away the places that are over.
local function prune(now)
  for _, request in ipairs(redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', whole(now))) do
    vacate(request)
  end
end

-- keep keeps the place of a request for ms from now.
local function keep(queue, request, now, ms)
  redis.call('ZADD', KEYS[5], whole(now + ms), request)
  redis.call('PEXPIRE', KEYS[5], ms)
  redis.call('PEXPIRE', queue, ms)
end

-- line_up gives an acquire that waits the last place in a queue, or keeps the one that it has.
local function line_up(queue, now)
  if ARGV[5] == '0' then
    return
  end
  if not redis.call('ZSCORE', queue, ARGV[4]) then
    local time = redis.call('TIME')
    local arrival = time[1] * 1000000 + time[2]
    for _, other in ipairs(queues) do
      local last = redis.call('ZREVRANGE', other, 0, 0, 'WITHSCORES')
      arrival = math.max(arrival, tonumber(last[2] or 0) + 1)
    end
    redis.call('ZADD', queue, whole(arrival), ARGV[4])
  end
  keep(queue, ARGV[4], now, ARGV[5])
end

-- ahead reports whether somebody in a queue came before an acquire; if that has no place yet, everybody did.
local function ahead(queue)
  local first = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
  if not first[1] then
    return false
  end
  for _, own in ipairs(queues) do
    local arrival = redis.call('ZSCORE', own, ARGV[4])
    if arrival then
      return tonumber(first[2]) < tonumber(arrival)
    end
  end
  return true
end

-- tell wakes one request that waits.
local function tell(channel, request)
  redis.call('PUBLISH', channel .. request, 'freed')
end
