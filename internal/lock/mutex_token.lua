-- Prelude of the mutex's scripts: its states, and its tokens.
--
-- The lock's key says who has the mutex, "owner token", with " w" behind it when somebody listens for the release; or,
-- for a while after a release, "-token", the last one. No owner begins with "-". Without the key the mutex is free too,
-- and nobody knows what became of the last holder: his lease was over, or he was forced out, or Redis lost the key.
--
-- The counter is "bound since". No token above the bound was handed out, and from the token since on every holder who
-- is not there any more has released. It is written when one of them changes, which in a row of releases is once in 10
-- ms; so tokens rise beyond the life of the lock's key. A bound is half of the shortest lease away at most, so that a
-- lease that ends without a release does not make tokens run ahead of the clock.

-- bound returns the last number of a token's 10 ms.
local function bound(token)
  return math.floor(token / 10000) * 10000 + 9999
end

-- note writes the counter.
local function note(key, token, since)
  redis.call('SET', key, string.format('%.0f %.0f', bound(token), since), 'EX', 86400)
end

-- next_token returns the next token, as text. It is higher than the last one, not below Redis's time in microseconds,
-- and higher than any that the caller has seen (token.lua).
--
-- last   the last token, text; nil when the lock's key is not there
-- key    the counter
-- floor  the highest token that the caller has seen, text
local function next_token(last, key, floor)
  local now = redis.call('TIME')
  local token = math.max(now[1] * 1000000 + now[2], tonumber(last or 0) + 1, tonumber(floor) + 1)
  if not last or token > bound(tonumber(last)) then
    local highest, since = string.match(redis.call('GET', key) or '', '^(%d+) ?(%d*)$')
    if not last then
      token = math.max(token, tonumber(highest or 0) + 1)
    end
    note(key, token, last and tonumber(since) or token)
  end
  return string.format('%.0f', token)
end

-- released reports whether a holder with the token, who is not there any more, has released, as far as is known.
--
-- state    what the lock's key holds, or false
-- counter  what the counter holds, or false
-- token    text, "0" when the caller does not know it
local function released(state, counter, token)
  local last = state and tonumber(string.match(state, '^-(%d+)$') or string.match(state, ' (%d+)'))
  local since = counter and tonumber(string.match(counter, ' (%d+)$'))
  token = tonumber(token)
  return last and since and since <= token and token <= last
end
