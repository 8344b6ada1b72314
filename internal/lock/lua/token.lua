-- Prelude of scripts that hand out fencing tokens.
--
-- A token is higher than the lock's last one, not below Redis's time in microseconds, and higher than any that the
-- caller has seen. Numbers below 2^53 are exact here; these are until the year 2255.
--
-- Nothing of a lock stays for long, so the highest token of all locks of a slot is kept for a day in one key, its high
-- water. It is raised before a token is handed out. So tokens rise after a lock's key has gone and the clock has gone
-- back; and if the high water is lost as well, they rise because the clock goes on, or because the caller has seen one.

-- cover raises the high water to a token, if it is lower.
--
-- key    the high water
-- high   what it holds, or false
-- token  number
local function cover(key, high, token)
  if tonumber(high or 0) < token then
    redis.call('SET', key, string.format('%.0f', token), 'EX', 86400)
  end
end

-- next_token returns the next token of a lock, as text. The first one of a lock that nothing is known of covers
-- itself alone; one that follows another covers its 10 ms, so that a rush writes once in that time (mutex_take.lua
-- looks whether its token is covered). That is half of the shortest lease at most: a lease that ends without a
-- release does not make tokens run ahead of the clock.
--
-- key, high  as for cover
-- last       the lock's last token, text; nil when it is not known
-- floor      the highest token that the caller has seen, text
local function next_token(key, high, last, floor)
  local now = redis.call('TIME')
  local token = math.max(now[1] * 1000000 + now[2], tonumber(last or high or 0) + 1, tonumber(floor) + 1)
  cover(key, high, last and math.floor(token / 10000) * 10000 + 9999 or token)
  return string.format('%.0f', token)
end
