-- Prelude of scripts of locks that have a queue in Redis. Follows clock.lua.
--
-- A request that must wait takes a place in the queue, a sorted set of "process request owner" → time of arrival, in
-- microseconds of Redis's clock, or one more than the last arrival if the clock went back. A process keeps its places
-- by renewing them. A second sorted set has, for each process, the time in milliseconds until which its places last;
-- "last" → the last arrival; and "=owner" → the number of that owner's places. The places of a process that stopped
-- renewing are removed once they reach the head of the queue, so the places of many that died together end together.
-- The keys live as long as the last process.
--
-- No script touches more than 500 places: it removes at most that many dead ones from each queue, and notifies as many
-- waiters.
--
-- KEYS[4]  the queue
-- KEYS[5]  the processes: until when each keeps its places
-- KEYS[6]  the queue of readers, who may go together (readwrite.lua); none for locks without them
-- In an acquire:
-- ARGV[5]  how long a process keeps its places, milliseconds; "0": the request does not wait and takes no place
-- ARGV[6]  the place, "process request owner"
-- ARGV[7]  prefix of the waiters' channels; a process listens on this prefix plus its name

local queues = {KEYS[4], KEYS[6]}

-- due returns at most 500 places whose turn it is. Each kind defines it.
local due

-- alive reports whether a process keeps its places.
local function alive(process, now)
  local till = redis.call('ZSCORE', KEYS[5], process)
  return till and tonumber(till) > now
end

-- waits returns how many places an owner has, or nil.
local function waits(owner)
  return redis.call('ZSCORE', KEYS[5], '=' .. owner)
end

-- remove removes a place from a queue, and returns how many places were removed: 0 or 1.
local function remove(queue, place)
  local gone = redis.call('ZREM', queue, place)
  local owner = '=' .. string.match(place, '^%S+ %S+ (.*)$')
  if gone == 1 and tonumber(redis.call('ZINCRBY', KEYS[5], -1, owner)) <= 0 then
    redis.call('ZREM', KEYS[5], owner)
  end
  return gone
end

-- vacate gives up a place, and reports whether it existed. With the last place it deletes the keys.
local function vacate(place)
  local gone = 0
  for _, queue in ipairs(queues) do
    gone = gone + remove(queue, place)
  end
  if gone > 0 and redis.call('EXISTS', unpack(queues)) == 0 then
    redis.call('DEL', KEYS[5])
  end
  return gone > 0
end

-- prune removes dead places from the heads of the queues, and reports whether more may remain.
local function prune(now)
  local more = false
  for _, queue in ipairs(queues) do
    local first = redis.call('ZRANGE', queue, 0, 0)[1]
    if first and not alive(string.match(first, '^%S+'), now) then
      local places, known = redis.call('ZRANGE', queue, 0, 499), {}
      for _, place in ipairs(places) do
        local process = string.match(place, '^%S+')
        if known[process] == nil then
          known[process] = alive(process, now) or false
        end
        if known[process] then
          break
        end
        remove(queue, place)
      end
      more = more or #places == 500
    end
  end
  return more
end

-- keep renews the places of a process for ms from now, and reports whether it had none.
local function keep(process, now, ms)
  local lapsed = not alive(process, now)
  redis.call('ZADD', KEYS[5], whole(now + ms), process)
  redis.call('PEXPIRE', KEYS[5], ms)
  for _, queue in ipairs(queues) do
    redis.call('PEXPIRE', queue, ms)
  end
  return lapsed
end

-- line_up adds an acquire that waits to the end of a queue, unless it has a place already, and returns the answer that
-- it must wait, at most for the time wait.
local function line_up(queue, now, wait)
  if ARGV[5] == '0' then
    return {0, wait}
  end
  if not redis.call('ZSCORE', queue, ARGV[6]) then
    local time = redis.call('TIME')
    local last = tonumber(redis.call('ZSCORE', KEYS[5], 'last') or 0)
    local arrival = whole(math.max(time[1] * 1000000 + time[2], last + 1))
    redis.call('ZADD', queue, arrival, ARGV[6])
    redis.call('ZADD', KEYS[5], arrival, 'last')
    redis.call('ZINCRBY', KEYS[5], 1, '=' .. ARGV[1])
  end
  return {0, wait, keep(string.match(ARGV[6], '^%S+'), now, ARGV[5]) and 1 or 0}
end

-- ahead reports whether a place in a queue is ahead of an acquire; for an acquire without a place, any place is.
local function ahead(queue)
  local first = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
  if not first[1] then
    return false
  end
  for _, own in ipairs(queues) do
    local arrival = redis.call('ZSCORE', own, ARGV[6])
    if arrival then
      return tonumber(first[2]) < tonumber(arrival)
    end
  end
  return true
end

-- tell wakes the waiters with these places: one message per process, with a line "request owner" per place.
local function tell(channel, places)
  local requests = {}
  for _, place in ipairs(places) do
    local process, request = string.match(place, '^(%S+) (.*)$')
    requests[process] = requests[process] or {}
    table.insert(requests[process], request)
  end
  for process, of in pairs(requests) do
    redis.call('PUBLISH', channel .. process, table.concat(of, '\n'))
  end
end

-- call_along wakes all waiters with the same owner as an acquire that begins a stay, in any process: they enter ahead
-- of all others. The sign '=' wakes all of them, '+' only those that want to read.
local function call_along(sign, now)
  if waits(ARGV[1]) then
    local alive = redis.call('ZRANGEBYSCORE', KEYS[5], whole(now), whole(now + 60000), 'LIMIT', 0, 500)
    for _, process in ipairs(alive) do
      redis.call('PUBLISH', ARGV[7] .. process, sign .. ARGV[1])
    end
  end
end

-- wake notifies the waiters whose turn it is.
local function wake(channel, now)
  prune(now)
  tell(channel, due())
end
