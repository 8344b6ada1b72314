-- Prelude of scripts that hand out fencing tokens.

-- next_token returns the next token of a lock, as text, and remembers it in the lock's counter.
--
-- It is higher than the last one, not below Redis's time in microseconds, and higher than any that the caller has seen.
-- So tokens go on rising when the counter has expired, was evicted, or went back with a Redis that lost its last
-- writes, as long as the clock did not go back too; and if it did, they rise for everybody who has seen one.
-- Numbers below 2^53 are exact here; these are until the year 2255.
--
-- key    the counter: string, the last token; lives for a day after it, so that names used once leave nothing behind
-- last   what it holds, or false
-- floor  the highest token that the caller has seen, text
local function next_token(key, last, floor)
  local now = redis.call('TIME')
  local token = math.max(now[1] * 1000000 + now[2], (tonumber(last or 0)) + 1, tonumber(floor) + 1)
  token = string.format('%.0f', token)
  redis.call('SET', key, token, 'EX', 86400)
  return token
end

-- keep_token writes the counter again if it fell behind a token that is in use: it was lost while the lock was held.
local function keep_token(key, last, token)
  if tonumber(last or 0) < tonumber(token) then
    redis.call('SET', key, token, 'EX', 86400)
  end
end
